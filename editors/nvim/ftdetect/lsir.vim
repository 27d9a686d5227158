autocmd BufRead,BufNewFile *.lsir setfiletype lsir
autocmd BufRead,BufNewFile *.ltest setfiletype ltest
