" Text tests (docs/text_tests.md): models and sessions in sections.
if exists('b:current_syntax')
  finish
endif
runtime! syntax/lsir.vim
unlet b:current_syntax
syntax match ltestComment /^#.*$/
syntax match ltestSection /^== .*$/
syntax match ltestCommand /^> .*$/
syntax match ltestWildcard /\.\.\.\|{{[^}]*}}/
highlight default link ltestComment Comment
highlight default link ltestSection Title
highlight default link ltestCommand Statement
highlight default link ltestWildcard Special
let b:current_syntax = 'ltest'
