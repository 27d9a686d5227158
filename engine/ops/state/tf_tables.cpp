// Catalogue entries of TensorFlow's lookup tables.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, HashTableV2) { return tfStatefulDef({0, 0}, "", "The handle of a table that is filled once."); }
LS_DEFINE_OP(tf, MutableHashTableV2) { return tfStatefulDef({0, 0}, "", "The handle of a table that may change."); }
LS_DEFINE_OP(tf, InitializeTableV2) { return tfStatefulDef({3, 3, 0, 0}, "table_handle, keys, values", "Fills a table, once."); }
LS_DEFINE_OP(tf, InitializeTableFromTextFileV2)
{
    OpDef def = tfStatefulDef({2, 2, 0, 0}, "table_handle, filename", "Fills a table from the lines of a file, once.");
    def.differs = "reads the assets of a SavedModel only, by their names there";
    return def;
}
LS_DEFINE_OP(tf, LookupTableFindV2) { return tfStatefulDef({3, 3}, "table_handle, keys, default_value", "The values of keys."); }
LS_DEFINE_OP(tf, LookupTableSizeV2) { return tfStatefulDef({1, 1}, "table_handle", "How many keys a table has."); }
LS_DEFINE_OP(tf, LookupTableExportV2)
{
    return tfStatefulDef({1, 1, 2, 2}, "table_handle", "All keys, ordered by their bytes, and their values.");
}
LS_DEFINE_OP(tf, LookupTableImportV2) { return tfStatefulDef({3, 3, 0, 0}, "table_handle, keys, values", "Replaces what is in a table."); }
LS_DEFINE_OP(tf, LookupTableInsertV2)
{
    return tfStatefulDef({3, 3, 0, 0}, "table_handle, keys, values", "Adds to a table, or changes values.");
}
LS_DEFINE_OP(tf, LookupTableRemoveV2) { return tfStatefulDef({2, 2, 0, 0}, "table_handle, keys", "Takes keys out of a table."); }
LS_DEFINE_OP(tf, HashTable) { return tfStatefulDef({0, 0}, "", "A table that is filled once."); }
LS_DEFINE_OP(tf, MutableHashTable) { return tfStatefulDef({0, 0}, "", "A table that may change."); }
LS_DEFINE_OP(tf, MutableDenseHashTableV2)
{
    return tfStatefulDef({2, 2}, "empty_key, deleted_key", "A table that may change; two of its keys are set apart.");
}
LS_DEFINE_OP(tf, AnonymousHashTable) { return tfStatefulDef({0, 0}, "", "A table without a name that is filled once."); }
LS_DEFINE_OP(tf, AnonymousMutableHashTable) { return tfStatefulDef({0, 0}, "", "A table without a name that may change."); }
LS_DEFINE_OP(tf, AnonymousMutableDenseHashTable)
{
    return tfStatefulDef({2, 2}, "empty_key, deleted_key", "A table without a name that may change.");
}
LS_DEFINE_OP(tf, InitializeTable) { return tfStatefulDef({3, 3, 0, 0}, "table_handle, keys, values", "Fills a table once."); }
LS_DEFINE_OP(tf, LookupTableFind) { return tfStatefulDef({3, 3}, "table_handle, keys, default_value", "Values by key."); }
LS_DEFINE_OP(tf, LookupTableSize) { return tfStatefulDef({1, 1}, "table_handle", "How many entries a table has."); }
LS_DEFINE_OP(tf, LookupTableInsert) { return tfStatefulDef({3, 3, 0, 0}, "table_handle, keys, values", "Adds to a table."); }
