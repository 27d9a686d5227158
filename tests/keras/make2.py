"""Writes tests/keras/keras2.keras and, with what Keras 2 itself computes, tests/keras/keras2.ltest.

Run from the root of the tree with tf_keras, which is Keras 2 on TensorFlow: python tests/keras/make2.py
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import tf_keras as keras
from tf_keras import layers


def model():
    x, ids = keras.Input((6, 4), name="x"), keras.Input((6,), name="ids", dtype="int32")
    tower = keras.Sequential([keras.Input((6, 4)), layers.Conv1D(4, 3, padding="causal"), layers.BatchNormalization(), layers.LeakyReLU()], name="tower")
    words = layers.Bidirectional(layers.GRU(2, recurrent_activation="hard_sigmoid", return_sequences=True))(layers.Embedding(9, 3, mask_zero=True)(ids))
    y = 1.0 - tower(tower(x)) * 0.5
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(2, 3)(y, value=words))
    z = tf.concat([tf.reduce_mean(y, axis=1), y[:, 1:3, 0], tf.nn.softmax(words[:, -1])], axis=1)
    return keras.Model([x, ids], [layers.Dense(3, activation="hard_sigmoid", name="chosen")(z), layers.LSTM(2, name="last")(words)])


def literal(array):
    return "%s%s %s" % ("i32" if "int" in str(array.dtype) else "f32", list(array.shape), np.array2string(array, separator=", ", floatmode="unique", threshold=10**6, max_line_width=10**9).replace("\n", ""))


def main():
    keras.utils.set_random_seed(7)
    made, draw = model(), np.random.default_rng(7)
    for weight in made.weights:
        values = draw.uniform(-1, 1, weight.shape)
        weight.assign(np.abs(values) + 0.5 if "variance" in weight.name else values)
    made.save("tests/keras/keras2.keras")
    inputs = [draw.uniform(-1, 1, (2, 6, 4)).astype(np.float32).round(3), draw.integers(0, 9, (2, 6)).astype(np.int32)]
    with open("tests/keras/keras2.ltest", "w") as file:
        file.write("# What Keras 2 computes of tests/keras/keras2.keras, to be computed of the file alone. Written by tests/keras/make2.py.\n")
        file.write("\n== test keras2\n== model tests/keras/keras2.keras\n== run signature=serving_default\n")
        file.writelines("%s = %s\n" % (i.name, literal(v)) for i, v in zip(made.inputs, inputs))
        file.write("== expect close rtol=1e-5 atol=1e-6\n")
        file.writelines("%s = %s\n" % (n, literal(np.asarray(v))) for n, v in zip(made.output_names, made(inputs)))


main()
