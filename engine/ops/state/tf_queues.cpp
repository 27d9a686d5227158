// Catalogue entries of TensorFlow's queues.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, FIFOQueueV2) { return tfStatefulDef({0, 0}, "", "A queue: first in, first out."); }
LS_DEFINE_OP(tf, PaddingFIFOQueueV2)
{
    return tfStatefulDef({0, 0}, "", "A queue whose elements are filled up to one shape when several are taken.");
}
LS_DEFINE_OP(tf, PriorityQueueV2) { return tfStatefulDef({0, 0}, "", "A queue whose least first component comes out first."); }
LS_DEFINE_OP(tf, RandomShuffleQueueV2)
{
    OpDef def = tfStatefulDef({0, 0}, "", "A queue from which elements come at random, some always being left to choose from.");
    def.differs = "without seeds the session's seed decides";
    return def;
}
LS_DEFINE_OP(tf, QueueEnqueueV2) { return tfStatefulDef({1, -1, 0, 0}, "handle, components…", "Puts an element into a queue."); }
LS_DEFINE_OP(tf, QueueEnqueueManyV2)
{
    return tfStatefulDef({1, -1, 0, 0}, "handle, components…", "Puts the slices of its operands into a queue.");
}
LS_DEFINE_OP(tf, QueueDequeueV2) { return tfStatefulDef({1, 1, 0, -1}, "handle", "Takes an element out of a queue."); }
LS_DEFINE_OP(tf, QueueDequeueManyV2)
{
    return tfStatefulDef({2, 2, 0, -1}, "handle, n", "Takes n elements out of a queue, one behind the other.");
}
LS_DEFINE_OP(tf, QueueDequeueUpToV2)
{
    return tfStatefulDef({2, 2, 0, -1}, "handle, n", "Takes n elements out of a queue, fewer where it is closed.");
}
LS_DEFINE_OP(tf, QueueCloseV2) { return tfStatefulDef({1, 1, 0, 0}, "handle", "Nothing more goes into the queue."); }
LS_DEFINE_OP(tf, QueueIsClosedV2) { return tfStatefulDef({1, 1}, "handle", "Whether nothing more goes into the queue."); }
LS_DEFINE_OP(tf, QueueSizeV2) { return tfStatefulDef({1, 1}, "handle", "How many elements a queue holds."); }
