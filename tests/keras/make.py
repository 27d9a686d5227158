"""Writes the models of samples/keras and, with what Keras itself computes, tests/keras/samples.ltest.

Run from the root of the tree with Keras 3 on TensorFlow; nothing else needs either: python tests/keras/make.py
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers


def dense():
    return keras.Sequential([keras.Input((4,), name="x"), layers.Dense(8, activation="relu"), layers.Dropout(0.2), layers.Dense(3, activation="softmax")])


SAMPLES = {"dense": dense}


def literal(array):
    return "f32%s %s" % (list(array.shape), np.array2string(array, separator=", ", floatmode="unique", threshold=10**6, max_line_width=10**9).replace("\n", ""))


def main():
    text = "# What Keras computes of samples/keras, to be computed of the files alone. Written by tests/keras/make.py.\n"
    for name, make in SAMPLES.items():
        keras.utils.set_random_seed(7)
        keras.backend.clear_session()
        model = make()
        draw = np.random.default_rng(7)
        for weight in model.weights:  # zeros and ones would hide what is mixed up
            if "float" in str(weight.dtype):
                values = draw.uniform(-1, 1, weight.shape)
                weight.assign(np.abs(values) + 0.5 if "variance" in weight.path else values)
        path = "samples/keras/%s.keras" % name
        model.save(path)
        inputs = [draw.uniform(-1, 1, [2 if d is None else d for d in i.shape]).astype(np.float32).round(3) for i in model.inputs]
        outputs = model(inputs if len(inputs) > 1 else inputs[0])
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        text += "\n== test keras_%s\n== model %s\n== run\n" % (name, path)
        text += "".join("%s = %s\n" % (i.name, literal(v)) for i, v in zip(model.inputs, inputs))
        text += "== expect close rtol=1e-5 atol=1e-6\n"
        names = getattr(model, "output_names", None) or [model.layers[-1].name]
        text += "".join("%s = %s\n" % (n, literal(np.asarray(v))) for n, v in zip(names, outputs))
    with open("tests/keras/samples.ltest", "w") as file:
        file.write(text)


main()
