/** Thrown by calls and streams after their client was closed, which also happens when its service stops. */
export class ClientClosedError extends TypeError {
  constructor() {
    super('the client is closed')
  }
}
