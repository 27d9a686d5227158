break iter while#0 3
run x=6
bt
list
info loop
print n, prev(n)
step 3
reverse-step
goto 50%
why loop
hist n
set n = 7
timelines
finish
