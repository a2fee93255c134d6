/** Replacement for a secret. */
export const REDACTED = '********'

/** Names whose values are secret even if no schema marks them as such. */
export const SECRET_NAME: RegExp = /secret|passw|token|credential|(?:api|private)[_-]?key/i

const USERINFO = /^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i

/** Redacts user and password in a URL. Other text is returned unchanged. */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `$1${REDACTED}@`)
}

/** Redacts everything in a URL or invalid URL that may be a user, a password or a token, for errors and logs. */
export function redactUrl(text: string): string {
  return text.replace(/^((?:[^\s=]*=)?[a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1[hidden]@')
}

/** Whether a JSON Schema marks any part as secret (`writeOnly`). */
export function hasSecretPart(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const isSecret = 'writeOnly' in schema && schema.writeOnly === true
  return isSecret || Object.values(schema).some(hasSecretPart)
}
