import { DEFAULT_DOMAIN } from './service.ts'
import { isServiceName } from './service-name.ts'

/** Description of a valid namespace name, for errors. */
export const NAMESPACE_FORM: string = `letters, digits and inner dots, dashes or underscores; ${DEFAULT_DOMAIN} in lower case only`

/**
 * True for a valid namespace name, which has the form of a service name. The default namespace in another letter case
 * is invalid, since users could confuse the two.
 */
export function isNamespaceName(name: string): boolean {
  return isServiceName(name) && (name === DEFAULT_DOMAIN || name.toLowerCase() !== DEFAULT_DOMAIN)
}
