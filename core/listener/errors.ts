/** Why a port could not be opened, in one line. */
export function toListenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message
  return new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error })
}
