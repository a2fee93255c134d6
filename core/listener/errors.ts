/** Describes in one line why a port could not be opened. */
export function toListenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message
  return new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error })
}
