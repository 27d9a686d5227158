" Models as text (docs/text_ir.md).
if exists('b:current_syntax')
  finish
endif
syntax match lsirComment /;.*$/
syntax region lsirString start=/"/ skip=/\\"/ end=/"/ oneline
syntax match lsirSection /^\s*\(graph\|names\|signature\|metadata\|versions\|model\|lsir\|external\|gradient\|data\)\>/
syntax match lsirReturn /^\s*\(return\|yield\|next\|test\)\>/
syntax match lsirDeclaration /= \zs\(const\|variable\|absent\)\>/
syntax match lsirOperator /\<[A-Za-z_][A-Za-z0-9_.]*\ze(/
syntax match lsirFlow /\<\(while\|if\|case\|call_once\|While\|If\|Switch\|Merge\|Enter\|Exit\|NextIteration\|LoopCond\)\ze(/
syntax match lsirType /\<\(b\?f\d\+\|f8e[45]m[23]\(fn\)\?\|[iu]\d\+\|q[iu]\d\+\|bool\|str\|c64\|c128\|resource\|variant\)\ze[\[&<]/
syntax match lsirGraph /@[A-Za-z_][A-Za-z0-9_.\/-]*/
syntax match lsirAttribute /\<[A-Za-z_][A-Za-z0-9_]*\ze=[^= ]/
syntax match lsirNumber /\(^\|[^A-Za-z0-9_.]\)\zs-\?\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?\>/
syntax keyword lsirConstant true false nan inf unset
highlight default link lsirComment Comment
highlight default link lsirString String
highlight default link lsirSection Keyword
highlight default link lsirReturn Statement
highlight default link lsirDeclaration StorageClass
highlight default link lsirOperator Function
highlight default link lsirFlow Conditional
highlight default link lsirType Type
highlight default link lsirGraph Identifier
highlight default link lsirAttribute PreProc
highlight default link lsirNumber Number
highlight default link lsirConstant Constant
let b:current_syntax = 'lsir'
