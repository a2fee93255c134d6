/** Source of access tokens for calls to the platform. */
export interface TokenSource {
  /** True if the credentials are implicit; explicit ones take precedence. @default false */
  readonly isGuess?: boolean
  /** Current access token; undefined if none yet, or unavailable. */
  readonly current: () => string | undefined
  /** Milliseconds until another token is needed; 0: now. Infinity: not known. */
  readonly leftMs: () => number
  /**
   * Settles once there is a token, or none is required; undefined: already settled.
   *
   * @throws {GatewayError} by rejecting, error of the login.
   */
  readonly ready: () => Promise<void> | undefined
  /** Reports that a token was rejected: it is not used again. False: there is no other token. */
  readonly isRejected: (token: string) => boolean
}
