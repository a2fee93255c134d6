/** Creates an error with a one-line message that explains why a port could not be opened. */
export function toListenError(error: NodeJS.ErrnoException, address: string): Error {
  const reason = error.code === 'EADDRINUSE' ? 'the port is already in use' : error.message
  return new Error(`cannot listen on ${address}: ${reason}`, { cause: error })
}
