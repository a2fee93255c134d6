/** Destination of a connection. */
export interface EgressTarget {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
}
