import { delimiter, dirname } from 'node:path'

/**
 * Environment variables passed to builds and fetches. They contain locations of tools, but nothing
 * about the server.
 */
const ALLOWED = new Set(
  `LANG LANGUAGE LC_ALL LC_CTYPE TZ
  HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
  SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
  npm_config_registry NPM_CONFIG_REGISTRY
  PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_TRUSTED_HOST PIP_CERT PIP_DEFAULT_TIMEOUT PIP_CONFIG_FILE
  GOPROXY GOSUMDB GONOSUMDB GOPRIVATE GONOPROXY GOINSECURE GOFLAGS GOTOOLCHAIN GOROOT`.split(/\s+/),
)

/** Returns the environment of a build or fetch: the allowed variables and a home folder. */
export function toWorkEnvironment(home: string): Record<string, string> {
  const env: Record<string, string> = { HOME: home, TMPDIR: home, PATH: toPath([]) }
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && ALLOWED.has(name)) env[name] = value
  }
  return env
}

/**
 * Returns a `PATH` consisting of the specified folders, the folder of this Node.js, and the `PATH`
 * of this process.
 */
export function toPath(folders: readonly string[]): string {
  const inherited = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'
  return [...folders, dirname(process.execPath), inherited].join(delimiter)
}
