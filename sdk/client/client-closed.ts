/** Thrown by calls and streams of a client that was closed, as it is when its service stops. */
export class ClientClosedError extends TypeError {
  constructor() {
    super('the client is closed')
  }
}
