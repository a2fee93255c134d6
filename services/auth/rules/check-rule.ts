import type { Resource, Rule } from '../../../core/contracts/auth.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { isScope, SCOPE_FORM } from '../accounts/accounts.ts'
import type { ResourceMessage, RuleMessage } from '../messages.ts'

/** How people write the scope of everybody (specification: Rule). */
const PUBLIC = '<public>'
const NAMES_EVERYTHING = '*'
/** As of accounts: no control characters, blanks or slashes. */
const ID = /^[^\s/\p{C}]{1,128}$/u
const TYPE = /^[A-Za-z][\w-]{0,63}$/
const NAME = /^[^\s:*/\p{C}]{1,253}$/u
/** A star stands for what follows a dot or a slash, at the end. */
const ENDPOINT = /^[^\s:*\p{C}]{1,1000}(?:(?<=[./])\*)?$/u

/**
 * The rule a request is for.
 *
 * @throws {GatewayError} 400 naming what is missing or wrong (reference 2.5).
 */
export function toRule(given: RuleMessage, errorId: string): Rule {
  const { id, scope, resource, access, priority } = given
  const isEmpty = id === '' && scope === '' && access === '' && isMissing(resource)
  if (isEmpty) throw badRequest(errorId, 'Rule missing')
  if (id === '') throw badRequest(errorId, 'ID missing')
  if (isMissing(resource)) throw badRequest(errorId, 'Resource missing')
  if (access === '' || access === 'UNKNOWN') throw badRequest(errorId, 'Access missing')
  mustBe(ID.test(id), 'id', 'up to 128 characters without blanks and slashes', id, errorId)
  const known = scope === PUBLIC ? '' : scope
  const isKnown = known === '' || known === '*' || known === '+' || isScope(known)
  mustBe(isKnown, 'scope', `empty for everybody, *, + or ${SCOPE_FORM}`, scope, errorId)
  const isAccess = access === 'GRANTED' || access === 'DENIED'
  mustBe(isAccess, 'access', 'GRANTED or DENIED', access, errorId)
  return {
    id,
    scope: known,
    access: access as Rule['access'],
    resource: toResource(resource, 'request.rule.resource', errorId),
    priority,
  }
}

/** @throws {GatewayError} 400 naming which part is wrong. */
export function toResource(
  { type, name, endpoint }: ResourceMessage,
  field: string,
  errorId: string,
): Resource {
  const check = (part: string, value: string, form: RegExp, rule: string): void => {
    if (value !== NAMES_EVERYTHING && !form.test(value))
      throw badRequest(errorId, `${field}.${part} must be ${rule}, got ${show(value)}`)
  }
  check('type', type, TYPE, '*, or letters, digits, dashes or underscores')
  check('name', name, NAME, '* alone, or a full name without blanks, colons, slashes and stars')
  check(
    'endpoint',
    endpoint,
    ENDPOINT,
    '* alone, Handler.Method or a path, or what they begin with: Handler.* or /path/*',
  )
  return { type, name, endpoint }
}

function isMissing({ type, name, endpoint }: ResourceMessage): boolean {
  return type === '' && name === '' && endpoint === ''
}

function mustBe(isSo: boolean, field: string, rule: string, got: string, errorId: string): void {
  if (!isSo) throw badRequest(errorId, `request.rule.${field} must be ${rule}, got ${show(got)}`)
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
