// Catalogue entries of TensorFlow's recurrent cells in one operator.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, LSTMBlockCell)
{
    return tfDef({8, 8, 7, 7}, "x, cs_prev, h_prev, w, wci, wcf, wco, b", "One step of an LSTM cell, and all that its gradient needs.",
                 inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, BlockLSTM)
{
    return tfDef({9, 9, 7, 7}, "seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b",
                 "An LSTM over a sequence, and all that its gradient needs.", inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, BlockLSTMV2)
{
    return tfDef({9, 9, 7, 7}, "seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b",
                 "An LSTM over a sequence, gates in the order of Keras.", inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, GRUBlockCell)
{
    return tfDef({6, 6, 4, 4}, "x, h_prev, w_ru, w_c, b_ru, b_c", "One step of a GRU cell.", inferAtRunTime, withinRelative(1e-5));
}
