import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { SETTINGS } from '../../platform/settings/settings.ts'
import { readConfig } from '../state/config.ts'
import type { Finding } from './finding.ts'

const NODE_MINIMUM = [20, 19] as const
/** Default ports of `mx server` with their flags. */
const PORTS = [
  ['gateway', 'address', 8080],
  ['RPC proxy', 'proxy_address', 8081],
  ['dashboard', 'web_address', 8082],
  ['health and metrics', 'admin_address', 8089],
] as const
/** Files that other users must not read. */
const SECRETS = ['tokens', 'admin_password', 'service_credentials', 'config_secret_key']
const OTHERS = 0o077

/** @param canStart true if starting `mx server`, which needs its ports, is the next step */
export async function checkMachine(canStart: boolean): Promise<readonly Finding[]> {
  return [
    checkNode(process.versions.node),
    ...checkFolder(join(homedir(), '.mx')),
    ...(canStart ? (await Promise.all(PORTS.map(checkPort))).flat() : []),
  ]
}

/** @param version version such as `20.19.0` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [minMajor, minMinor] = NODE_MINIMUM
  const isSupported = major > minMajor || (major === minMajor && minor >= minMinor)
  const subject = 'Node.js'
  if (isSupported) return { what: subject, state: 'ok', found: version }
  return {
    ...{ what: subject, state: 'bad', found: version },
    advice: `install Node.js ${NODE_MINIMUM.join('.')} or newer`,
  }
}

/** Checks the folder of the CLI and of local servers. */
export function checkFolder(folder: string): readonly Finding[] {
  const what = folder
  if (!existsSync(folder)) return [checkParent(folder)]
  const findings: Finding[] = []
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    findings.push({ what, state: 'ok', found: 'writable' })
  } catch {
    findings.push({
      ...{ what, state: 'bad', found: 'not writable, logins cannot be stored' },
      advice: `chown -R "$USER" ${folder} && chmod u+rwx ${folder}`,
    })
  }
  for (const name of SECRETS) {
    const file = join(folder, name)
    const mode = existsSync(file) ? statSync(file).mode : 0
    if ((mode & OTHERS) !== 0)
      findings.push({
        ...{ what: file, state: 'bad', found: 'readable by other users' },
        advice: `chmod 600 ${file}`,
      })
  }
  try {
    readConfig()
  } catch (error) {
    findings.push({
      ...{ what: join(folder, 'config.json'), state: 'bad', found: (error as Error).message },
      advice: 'repair or remove the file',
    })
  }
  return findings
}

/** Checks whether a missing folder can be created. */
function checkParent(folder: string): Finding {
  try {
    accessSync(dirname(folder), constants.W_OK | constants.X_OK)
    return { what: folder, state: 'ok', found: 'does not exist, created on first use' }
  } catch {
    return {
      ...{ what: folder, state: 'bad', found: 'cannot be created, logins cannot be stored' },
      advice: 'set HOME to a writable folder',
    }
  }
}

async function checkPort([use, flag, standard]: (typeof PORTS)[number]): Promise<Finding[]> {
  const setting = Object.values(SETTINGS).find(({ name }) => name === flag)!
  const variable = process.env[`MX_${setting.name.toUpperCase()}`] ?? ''
  if (variable === 'none') return []
  const port = Number(/:(\d+)$/.exec(variable)?.[1] ?? standard)
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
  const what = `port ${port} (${use})`
  if (isFree) return [{ what, state: 'ok', found: 'free' }]
  return [
    {
      ...{ what, state: 'note', found: 'in use by another program' },
      advice: `choose another port with mx server --${flag}=127.0.0.1:<port>, or find the program: lsof -i :${port}`,
    },
  ]
}
