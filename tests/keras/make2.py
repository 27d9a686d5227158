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


def whole():
    """As whole() of make.py; of layers in a model in a model Keras 2 names only the innermost."""
    x, ids = keras.Input((4, 3), name="x"), keras.Input((4,), name="ids", dtype="int32")
    words = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(layers.Embedding(9, 3, mask_zero=True)(ids))
    inner = keras.Sequential([keras.Input((4, 3)), layers.Dense(4, name="a"), layers.BatchNormalization(), layers.Dense(2, name="b/c")], name="inner")
    z = keras.Input((4, 3))
    outer = keras.Model(z, inner(z) * 2.0, name="outer")
    y = layers.MultiHeadAttention(2, 2)(outer(x), words)
    return keras.Model([x, ids], layers.Dense(2, name="same")(layers.GRU(3)(layers.TimeDistributed(layers.Dense(3))(y))))


def write_whole(path, make, title):
    keras.utils.set_random_seed(7)
    model, draw = make(), np.random.default_rng(7)
    model.set_weights([np.abs(w) + 0.5 if "variance" in v.name else w for v, w in ((v, draw.uniform(-1, 1, v.shape)) for v in model.weights)])
    model.save(path)
    inputs = [draw.uniform(-1, 1, (2, 4, 3)).astype(np.float32).round(3), draw.integers(0, 9, (2, 4)).astype(np.int32)]
    text = "# What Keras computes of %s, to be computed of the file alone. Written by tests/keras/%s.\n" % (path, title)
    text += "\n== test %s\n== model %s\n== run signature=serving_default\n" % (os.path.basename(path)[:-3], path)
    text += "x = %s\nids = %s\n== expect close rtol=1e-5 atol=1e-6\n" % tuple(map(literal, inputs))
    with open(path[:-2] + "ltest", "w") as file:
        file.write(text + "same = %s\n" % literal(np.asarray(model(inputs))))


if __name__ == "__main__":
    main()
    write_whole("tests/keras/whole2.h5", whole, "make2.py")
