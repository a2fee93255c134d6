/** Describes in one line why a port could not be opened. */
export function toListenError(error: NodeJS.ErrnoException, address: string): Error {
  const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message
  return new Error(`cannot listen on ${address}: ${reason}`, { cause: error })
}
