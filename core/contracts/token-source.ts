/** Whom a program is, for the platform it calls. */
export interface TokenSource {
  /** Whether nobody gave what it logs in with: whoever was given an account comes before. @default false */
  readonly isGuess?: boolean
  /** The access token at present; undefined: there is none yet, or none can be had. */
  readonly current: () => string | undefined
  /** Milliseconds until another is needed; 0: now. Infinity: never, as far as is known. */
  readonly leftMs: () => number
  /**
   * Settles once there is a token, or it is clear that it goes without; undefined: that is so already.
   *
   * @throws {GatewayError} by rejecting, what logging in was answered.
   */
  readonly ready: () => Promise<void> | undefined
  /** A token was not taken: it is not shown again. False: there is nothing else to show. */
  readonly refused: (token: string) => boolean
}
