// Commands for messages: an argument with special characters is quoted for the shell.

export function quoteArgument(argument: string): string {
  return /^[\w./:=@-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
