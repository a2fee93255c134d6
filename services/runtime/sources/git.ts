import type { ServiceError } from '../../../sdk/errors.ts'
import { badGateway, notFound, notImplemented } from '../../../sdk/errors.ts'
import { BOUNDS } from '../builds/builder.ts'
import { type CommandEnd, runCommand } from '../jobs/run-command.ts'
import { toWorkEnvironment } from '../jobs/work-environment.ts'

/** Runs the system's git in a working folder. */
export interface Git {
  /** @throws {ServiceError} see {@link toFailure}. */
  readonly run: (...words: string[]) => Promise<void>
  /** Runs git and returns its standard output. */
  readonly read: (...words: string[]) => Promise<string>
  /**
   * Streams the standard output. If `onText` throws, the command is aborted and the error is
   * rethrown.
   */
  readonly scan: (onText: (text: string) => void, ...words: string[]) => Promise<void>
  /** Returns whether the command succeeded. Its output is dropped. */
  readonly try: (...words: string[]) => Promise<boolean>
}

export interface GitOptions {
  /** Existing working folder. */
  readonly folder: string
  readonly home: string
  /** Repository URL, for error messages. */
  readonly url: string
  /** A token or `user:token`, which is only sent to the host of `url`. */
  readonly credentials: string | undefined
  readonly allowLocal: boolean
  /**
   * Address of the host in the format of `http.curloptResolve`. If undefined, git or a proxy
   * resolves the host.
   */
  readonly pin: string | undefined
  readonly onOutput: (text: string) => void
  readonly signal: AbortSignal
}

const ID = 'runtime'
/** Maximum length of the standard output, for example a list of branches. */
const MAX_STDOUT = 32 * 1024 * 1024
/** Settings that disable hooks, links, submodules and helpers of a repository. */
const HARDENING_OPTIONS = toWords({
  'core.hooksPath': '/dev/null',
  'core.symlinks': 'false',
  'core.fsmonitor': 'false',
  'protocol.ext.allow': 'never',
  'submodule.recurse': 'false',
  'credential.helper': '',
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '30',
  'gc.auto': '0',
  'advice.detachedHead': 'false',
})
/** Matches git messages for a missing or private repository. */
const NO_REPOSITORY =
  /could not read (Username|Password)|Permission denied|Authentication failed|[Nn]ot found|does not (exist|appear to be)|error: 40[134]/

export function createGit(options: GitOptions): Git {
  const { folder, url, onOutput, signal } = options
  const env = toEnvironment(options)

  const start = (
    words: readonly string[],
    onStdout?: (text: string) => void,
    isQuiet = false,
    stop?: AbortSignal,
  ) =>
    runCommand(['git', ...HARDENING_OPTIONS, ...words], {
      cwd: folder,
      env,
      signal: stop === undefined ? signal : AbortSignal.any([signal, stop]),
      bounds: BOUNDS,
      onOutput: isQuiet ? () => {} : onOutput,
      ...(onStdout !== undefined && { onStdout }),
    })

  return {
    async run(...words) {
      const end = await start(words)
      if (!end.isDone) throw toFailure(url, end)
    },
    async read(...words) {
      let text = ''
      const end = await start(
        words,
        (more) => {
          if (text.length < MAX_STDOUT) text += more
        },
        true,
      )
      if (!end.isDone) throw toFailure(url, end)
      return text
    },
    async scan(onText, ...words) {
      const stop = new AbortController()
      const read = (text: string): void => {
        try {
          if (!stop.signal.aborted) onText(text)
        } catch (error) {
          stop.abort(error)
        }
      }
      const end = await start(words, read, true, stop.signal)
      if (!end.isDone) throw toFailure(url, end)
    },
    async try(...words) {
      return (await start(words, undefined, true)).isDone
    },
  }
}

/**
 * Checks that git supports `http.curloptResolve`. Versions before 2.37 ignore the option, resolve
 * the host again, and connect to the new address.
 *
 * @throws {ServiceError} 501
 */
export async function requirePinning(git: Git): Promise<void> {
  const version = /\d+\.\d+\S*/.exec(await git.read('version'))?.[0] ?? 'unknown'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 2 || (major === 2 && minor >= 37)) return
  throw notImplemented(ID, `repositories need git 2.37 or newer on the server, found ${version}`)
}

function toFailure(url: string, { tail, outcome }: CommandEnd): ServiceError {
  const output = tail.replace(/^(fatal|error|remote): */gm, '').trim()
  const reason = output === '' ? `git: ${outcome}` : output
  return NO_REPOSITORY.test(tail)
    ? notFound(ID, `no repository at ${url}, or it is private; set git.credentials\n${reason}`)
    : badGateway(ID, `the repository ${url} is unreachable\n${reason}`)
}

function toEnvironment(options: GitOptions): Record<string, string> {
  const settings = Object.entries(toSettings(options))
  const agent = process.env['SSH_AUTH_SOCK']
  const env: Record<string, string> = {
    ...toWorkEnvironment(options.home),
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: options.allowLocal ? 'https:http:ssh:file' : 'https',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new',
    ...(agent !== undefined && options.allowLocal && { SSH_AUTH_SOCK: agent }),
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
  }
  for (const [i, [key, value]] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${i}`] = key
    env[`GIT_CONFIG_VALUE_${i}`] = value
  }
  // Only the proxy may connect to a host whose addresses are unchecked.
  if (!options.allowLocal && options.pin === undefined)
    for (const name of ['NO_PROXY', 'no_proxy']) delete env[name]
  return env
}

/** Returns settings that are not passed as arguments, which every user of the machine could see. */
function toSettings({ url, credentials, pin, allowLocal }: GitOptions): Record<string, string> {
  const settings: Record<string, string> = {}
  if (pin !== undefined) settings['http.curloptResolve'] = pin
  const hasCredentials = credentials !== undefined && credentials !== '' && /^https?:/.test(url)
  // Redirects could send the token to another host, or connect to an unchecked host.
  if (hasCredentials || !allowLocal) settings['http.followRedirects'] = 'false'
  if (hasCredentials) {
    const pair = credentials.includes(':') ? credentials : `x-access-token:${credentials}`
    settings[`http.${new URL(url).origin}/.extraHeader`] =
      `Authorization: Basic ${Buffer.from(pair).toString('base64')}`
  }
  return settings
}

function toWords(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
}
