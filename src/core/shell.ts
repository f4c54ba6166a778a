// Commands as messages print them: an argument that is not plain is quoted for the shell.

export function quoteArgument(argument: string): string {
  return /^[\w./:=@-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
