/** Replaces a secret. */
export const REDACTED = '********'

/** Names of texts that are secret although no schema says so. */
export const SECRET_NAME: RegExp = /secret|passw|token|credential|(?:api|private)[_-]?key/i

const USERINFO = /^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i

/** A URL without its user and password; other text is returned unchanged. */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `$1${REDACTED}@`)
}

/** A URL, or text in its place, for errors and logs: without what may be a user, a password or a token. */
export function redactUrl(text: string): string {
  return text.replace(/^((?:[^\s=]*=)?[a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1[hidden]@')
}

/** Whether a JSON Schema marks anything in it as secret (`writeOnly`). */
export function hasSecretPart(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const isSecret = 'writeOnly' in schema && schema.writeOnly === true
  return isSecret || Object.values(schema).some(hasSecretPart)
}
