/** Source of access tokens for calls to the platform. */
export interface TokenSource {
  /** True if the credentials are implicit; explicit ones take precedence. @default false */
  readonly isGuess?: boolean
  /** Current access token; undefined if none has been obtained yet or it is unavailable. */
  readonly current: () => string | undefined
  /** Milliseconds until another token is needed; 0 for immediately, Infinity if unknown. */
  readonly remainingMs: () => number
  /**
   * Settles once a token is available or none is required. Returns undefined if already settled.
   *
   * @throws {GatewayError} by rejecting, with the error of the login.
   */
  readonly ready: () => Promise<void> | undefined
  /** Reports that a token was rejected, so that it is not reused. Returns false if no other token is available. */
  readonly isRejected: (token: string) => boolean
}
