"""Writes saved_model.pb: a loop, a branch and a call whose gradients functions of Python give; prints TensorFlow's own gradients."""

import pathlib
import tempfile

import tensorflow as tf

VECTOR = tf.TensorSpec([3], tf.float32)


@tf.custom_gradient
def clipped(x, y):
    return x * tf.sin(y), lambda dz: (dz * 3.0 * tf.sin(y), dz * x * 5.0)


@tf.custom_gradient
def first_only(x, y):
    return x + y * y, lambda dz: (dz * 7.0, None)


class Module(tf.Module):
    @tf.function
    def call(self, x, y):
        return clipped(x, y) * 2.0

    @tf.function(input_signature=[VECTOR, VECTOR])
    def __call__(self, x, y):
        w = tf.cos(x)
        _, z = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, clipped(a, y) + w * clipped(w, a)), (tf.constant(0), x))
        q = tf.cond(tf.reduce_sum(x) > 0.5, lambda: first_only(x, y), lambda: clipped(y, x))
        return {"z": tf.reduce_sum(z + q + self.call(q, x))}


module = Module()
x, y = tf.constant([0.1, 0.2, 0.3]), tf.constant([0.5, 1.0, 1.5])
tf.config.run_functions_eagerly(True)
with tf.GradientTape() as tape:
    tape.watch([x, y])
    z = module(x, y)["z"]
print(z.numpy(), [gradient.numpy() for gradient in tape.gradient(z, [x, y])])
tf.config.run_functions_eagerly(False)
options = tf.saved_model.SaveOptions(experimental_custom_gradients=True, experimental_debug_stripper=True)
with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(module, folder, signatures=module.__call__, options=options)
    pathlib.Path("saved_model.pb").write_bytes((pathlib.Path(folder) / "saved_model.pb").read_bytes())
