"""Writes a Keras LSTM of 64 units and 100 steps as TensorFlow Lite unrolls it as a While: python3 keras_lstm.py FILE. Exit code 3: no Keras."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import keras
    import tensorflow
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
except ImportError:
    sys.exit(3)

model = keras.Sequential([keras.Input((100, 32), batch_size=1), keras.layers.LSTM(64)])
function = tensorflow.function(lambda x: model(x)).get_concrete_function(tensorflow.TensorSpec([1, 100, 32], tensorflow.float32))
converter = tensorflow.lite.TFLiteConverter.from_concrete_functions([convert_variables_to_constants_v2(function)])
with open(sys.argv[1], "wb") as file:
    file.write(converter.convert())
