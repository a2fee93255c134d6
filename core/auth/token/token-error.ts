/** A token that is not taken. The message says why, for a log: who shows it is told less. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
}
