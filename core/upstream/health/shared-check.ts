/** A node check in one of several processes. */
export interface CheckHandlers {
  /** Starts checking: this process checks the node for all processes. */
  readonly lead: () => void
  /**
   * Receives a state from the process that checks the node.
   *
   * @param reason why the node is unhealthy; empty if it is healthy.
   */
  readonly receive: (reason: string) => void
}

/** Connects a check with the other processes. */
export interface SharedCheck {
  /** Sends a changed state to the other processes. @param reason see {@link CheckHandlers.receive}. */
  readonly publish: (reason: string) => void
  readonly close: () => void
}

/**
 * Shares a check among the processes of a gateway, one of which checks the node.
 *
 * @param key identical in all processes.
 */
export type ShareCheck = (key: string, handlers: CheckHandlers) => SharedCheck
