/** An invalid token. The message contains the reason for logs; clients receive less. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
}
