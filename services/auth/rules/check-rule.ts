import type { Resource, Rule } from '../../../core/contracts/auth.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { isScope, SCOPE_FORM } from '../accounts/accounts.ts'
import type { ResourceMessage, RuleMessage } from '../messages.ts'

/** Notation that means everyone (specification: Rule). */
const PUBLIC = '<public>'
const WILDCARD_NAME = '*'
/** Same rule as for stored account ids: no control characters, whitespace or slashes. */
const ID = /^[^\s/\p{C}]{1,128}$/u
const TYPE = /^[A-Za-z][\w-]{0,63}$/
const NAME = /^[^\s:*/\p{C}]{1,253}$/u
/** A trailing asterisk after a dot or a slash matches any suffix. */
const ENDPOINT = /^[^\s:*\p{C}]{1,1000}(?:(?<=[./])\*)?$/u

/**
 * Validates the rule in a request.
 *
 * @throws {GatewayError} 400 with the missing or invalid part (reference 2.5).
 */
export function toRule(message: RuleMessage, errorId: string): Rule {
  const { id, scope, resource, access, priority } = message
  const isEmpty = id === '' && scope === '' && access === '' && isMissing(resource)
  if (isEmpty) throw badRequest(errorId, 'Rule missing')
  if (id === '') throw badRequest(errorId, 'ID missing')
  if (isMissing(resource)) throw badRequest(errorId, 'Resource missing')
  if (access === '' || access === 'UNKNOWN') throw badRequest(errorId, 'Access missing')
  mustBe(ID.test(id), 'id', 'at most 128 characters without whitespace or slashes', id, errorId)
  const normalized = scope === PUBLIC ? '' : scope
  const isValid =
    normalized === '' || normalized === '*' || normalized === '+' || isScope(normalized)
  mustBe(isValid, 'scope', `empty for everyone, *, + or ${SCOPE_FORM}`, scope, errorId)
  const isAccess = access === 'GRANTED' || access === 'DENIED'
  mustBe(isAccess, 'access', 'GRANTED or DENIED', access, errorId)
  return {
    id,
    scope: normalized,
    access: access as Rule['access'],
    resource: toResource(resource, 'request.rule.resource', errorId),
    priority,
  }
}

/** @throws {GatewayError} 400 with the invalid part. */
export function toResource(
  { type, name, endpoint }: ResourceMessage,
  field: string,
  errorId: string,
): Resource {
  const check = (part: string, value: string, form: RegExp, rule: string): void => {
    if (value !== WILDCARD_NAME && !form.test(value))
      throw badRequest(errorId, `${field}.${part} must be ${rule}, got ${quote(value)}`)
  }
  check('type', type, TYPE, '*, or letters, digits, dashes or underscores')
  check('name', name, NAME, '*, or a full name without whitespace, colons, slashes or asterisks')
  check(
    'endpoint',
    endpoint,
    ENDPOINT,
    '*, Handler.Method, a path, or a prefix such as Handler.* or /path/*',
  )
  return { type, name, endpoint }
}

function isMissing({ type, name, endpoint }: ResourceMessage): boolean {
  return type === '' && name === '' && endpoint === ''
}

function mustBe(
  isValid: boolean,
  field: string,
  rule: string,
  actual: string,
  errorId: string,
): void {
  if (!isValid)
    throw badRequest(errorId, `request.rule.${field} must be ${rule}, got ${quote(actual)}`)
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
