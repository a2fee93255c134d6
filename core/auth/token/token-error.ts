/** An invalid token. The message with the reason is for logs; clients get less. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
}
