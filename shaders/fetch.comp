#version 450
// Words of the device's memory to where the host sees them: of a few, cheaper than a command that copies, for which a GPU changes its pace.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0, std430) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1, std430) writeonly buffer To { uint to[]; };
layout(push_constant) uniform Parameters { uint count; } p;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < p.count) to[i] = from[i];
}
