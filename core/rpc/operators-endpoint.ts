/** What services tell of themselves is for operators, not for whoever may call them; that they are well, is. */
const INTERNAL = 'Debug.'
/** Of every service, though none declares it. */
export const HEALTH: string = 'Debug.Health'

/** Whether an endpoint is for those who run the platform. */
export function isForOperators(endpoint: string): boolean {
  return endpoint.startsWith(INTERNAL) && endpoint !== HEALTH
}
