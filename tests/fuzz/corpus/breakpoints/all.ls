break .../add#3 if n > 4 hits %2
commands
print n
end
tbreak iter while#0 2
watch n
log .../if#2 "n is $(n)"
break nan born
break trips while#0 > 3 quiet
