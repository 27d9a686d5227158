vim.filetype.add({ extension = { lsir = 'lsir', ltest = 'ltest' } })
