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


def sequence():
    return keras.Sequential(
        [
            keras.Input((5, 3), name="x"),
            layers.LSTM(4, return_sequences=True),
            layers.Bidirectional(layers.GRU(3, return_sequences=True)),
            layers.SimpleRNN(4),
            layers.Dense(2, activation="tanh"),
        ]
    )


def words():
    return keras.Sequential(
        [keras.Input((6,), name="ids", dtype="int32"), layers.Embedding(9, 4, mask_zero=True), layers.GRU(3, go_backwards=True), layers.Dense(2)]
    )


def picture():
    image = keras.Input((12, 10, 3), name="image")
    x = layers.Rescaling(0.5)(image)
    x = layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    x = layers.Add()([x, layers.Conv2D(6, 1, activation="hard_silu")(y)])
    x = layers.Conv2DTranspose(2, 3, strides=2)(layers.MaxPooling2D()(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(3, activation="softmax", name="classes")(x))


def shared():
    a, b = keras.Input((4, 6), name="a"), keras.Input((4, 6), name="b")
    tower = keras.Sequential([keras.Input((4, 6)), layers.LayerNormalization(), layers.Dense(5, activation="gelu")], name="tower")
    p, q = tower(a), tower(b)
    mixed = layers.MultiHeadAttention(2, 3, name="mix")(p, q)
    return keras.Model([a, b], {"mixed": mixed, "near": layers.Dot(axes=2, normalize=True)([p, q]), "sum": p * 2.0 + q})


def attention():
    ids = keras.Input((6,), name="ids", dtype="int32")
    x = layers.Embedding(9, 4, mask_zero=True)(ids)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 3, sliding_window=3)(x, x, use_causal_mask=True)])
    x = layers.GroupQueryAttention(3, 4, 2, use_gate=True)(x, x)
    x = layers.Concatenate()([x, layers.Attention(use_scale=True)([x, x])])
    return keras.Model(ids, layers.LSTM(3)(x))


def arrays():
    x = keras.Input((6, 4), name="x")
    ops = keras.ops
    y = ops.where(ops.greater(x, 0.0), ops.gelu(x), ops.clip(x, -0.5, 0.5))
    y = ops.concatenate([y[:, 1:5:2], ops.repeat(x[..., -1:], 4, axis=2), ops.stack([x[:, 0], ops.take(x, 3, axis=1)], axis=1)], axis=1)
    y = ops.softmax(ops.pad(y, [[0, 0], [0, 0], [1, 1]]), axis=1)
    z = ops.einsum("abc,adc->abd", y, ops.flip(y, axis=1)) + ops.cast(ops.argmax(y, axis=1)[:, None, :1], "float32")
    return keras.Model(x, ops.logsumexp(ops.split(z, 2, axis=2)[1], axis=1) + ops.std(ops.tile(ops.swapaxes(z, 1, 2), [1, 1, 2]), axis=(1, 2), keepdims=False)[:, None])


def masks():
    ids = keras.Input((6,), name="ids", dtype="int32")
    x = layers.LayerNormalization()(layers.Embedding(9, 4, mask_zero=True)(ids))  # keeps which steps count
    x = layers.SimpleRNN(3, return_sequences=True)(x)
    return keras.Model(ids, layers.GRU(2)(layers.ZeroPadding1D(1)(x)))  # and there it ends


def film():
    frames = keras.Input((3, 8, 9, 2), name="frames")
    x = layers.TimeDistributed(layers.CenterCrop(6, 7))(frames)
    x = layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(x)
    x = layers.Bidirectional(layers.ConvLSTM2D(2, 2, strides=2))(x)
    x = layers.Reshape((3, 12))(layers.CenterCrop(3, 3)(x))
    return keras.Model(frames, layers.ConvLSTM1D(2, 2, go_backwards=True)(layers.Reshape((3, 4, 3))(x)))


def orders():
    x, ids = keras.Input((4, 5), name="x"), keras.Input((4,), name="ids", dtype="int32")
    ops = keras.ops
    top, places = ops.top_k(ops.sparsemax(x), 3)
    y = ops.norm(ops.tril(x, -1) + ops.triu(x, 2), ord=1, axis=-1, keepdims=True) * ops.norm(x, ord=float("inf"), axis=-1, keepdims=True)
    y = ops.concatenate([ops.roll(ops.sort(x, axis=1), 1, axis=2), top, y], axis=2) + ops.one_hot(ids, 9, axis=-1)
    y = ops.average(y, axis=1, weights=ops.broadcast_to(ops.cast(ops.argsort(x)[:, :, :1] + 1, "float32"), (2, 4, 9)))
    return keras.Model([x, ids], [ops.threshold(y, 0.1, -1.0), places * 2])


SAMPLES = {"dense": dense, "sequence": sequence, "words": words, "picture": picture, "shared": shared, "attention": attention, "arrays": arrays, "masks": masks, "film": film, "orders": orders}


def literal(array):
    return "%s%s %s" % ("i32" if "int" in str(array.dtype) else "f32", list(array.shape), np.array2string(array, separator=", ", floatmode="unique", threshold=10**6, max_line_width=10**9).replace("\n", ""))


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
        shapes = [[2 if d is None else d for d in i.shape] for i in model.inputs]
        inputs = [draw.integers(0, 9, s).astype(np.int32) if "int" in i.dtype else draw.uniform(-1, 1, s).astype(np.float32).round(3) for i, s in zip(model.inputs, shapes)]
        outputs = model(inputs if len(inputs) > 1 else inputs[0])
        names = getattr(model, "output_names", None) or [model.layers[-1].name]
        if isinstance(outputs, dict):
            names, outputs = [t._keras_history.operation.name for t in model.output.values()], list(outputs.values())
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        text += "\n== test keras_%s\n== model %s\n== run signature=serving_default\n" % (name, path)
        text += "".join("%s = %s\n" % (i.name, literal(v)) for i, v in zip(model.inputs, inputs))
        text += "== expect close rtol=1e-5 atol=1e-6\n"
        text += "".join("%s = %s\n" % (n, literal(np.asarray(v))) for n, v in zip(names, outputs))
    with open("tests/keras/samples.ltest", "w") as file:
        file.write(text)


def whole():
    """A whole model in HDF5: layers around layers, a model that is a layer, operations, a mask."""
    x, ids = keras.Input((4, 3), name="x"), keras.Input((4,), name="ids", dtype="int32")
    words = layers.Bidirectional(layers.GRU(2, return_sequences=True))(layers.Embedding(9, 3, mask_zero=True)(ids))
    inner = keras.Sequential([keras.Input((4, 3)), layers.Dense(4, name="same"), layers.BatchNormalization(), layers.Dense(2)], name="inner")
    y = layers.MultiHeadAttention(2, 2)(inner(x), words) + 0.5
    return keras.Model([x, ids], layers.Dense(2, name="same")(layers.LSTM(3)(layers.TimeDistributed(layers.Dense(3))(y))))


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
    write_whole("tests/keras/whole.h5", whole, "make.py")
