import { DEFAULT_DOMAIN } from './service.ts'
import { isServiceName } from './service-name.ts'

/** The form of a namespace, as errors state it. */
export const NAMESPACE_FORM: string = `letters, digits and inner dots, dashes or underscores; ${DEFAULT_DOMAIN} in lower case only`

/**
 * Whether `name` can name a namespace: the same form as a service's name. The default namespace in another letter case is none, so that
 * people do not take one for the other.
 */
export function isNamespaceName(name: string): boolean {
  return isServiceName(name) && (name === DEFAULT_DOMAIN || name.toLowerCase() !== DEFAULT_DOMAIN)
}
