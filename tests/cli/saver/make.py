"""Writes growth.ckpt.* as a Saver of TensorFlow 1 does: python make.py, with TensorFlow 2's v1 names."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.disable_control_flow_v2()
tf.disable_resource_variables()
x = tf.placeholder(tf.float32, [2], name="x")
rate = tf.get_variable("rate", initializer=[0.5, 2.0])
bonus = tf.get_variable("bonus", initializer=1.0, use_resource=True)
trips, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * rate + bonus), [tf.constant(0), x])
tf.identity(y, name="grown")
change = tf.assign(rate, [3.0, 1.0])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    saver = tf.train.Saver()
    session.run(change)
    print(session.run("grown:0", {x: [1.0, 2.0]}))
    saver.save(session, "growth.ckpt", write_meta_graph=True)
