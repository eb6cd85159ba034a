# As gdb takes them.
set confirm off
break neighbours.cu:9 if threadIdx.x == 33
commands
silent
echo reached\n
output/x %r2
echo \n
end
run
info breakpoints
