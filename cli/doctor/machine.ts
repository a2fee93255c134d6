import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { SETTINGS } from '../../platform/settings/settings.ts'
import { readConfig } from '../state/config.ts'
import type { Finding } from './finding.ts'

const NODE_WANTED = [20, 19] as const
/** Of `mx server`, each with the flag that moves it. */
const PORTS = [
  ['gateway', 'address', 8080],
  ['RPC proxy', 'proxy_address', 8081],
  ['dashboard', 'web_address', 8082],
  ['health and metrics', 'admin_address', 8089],
] as const
/** What nobody else may read. */
const SECRETS = ['tokens', 'admin_password', 'service_credentials', 'config_secret_key']
const OTHERS = 0o077

/** @param canStart whether `mx server` would be started here: then its ports have to be free. */
export async function checkMachine(canStart: boolean): Promise<readonly Finding[]> {
  return [
    checkNode(process.versions.node),
    ...checkFolder(join(homedir(), '.mx')),
    ...(canStart ? (await Promise.all(PORTS.map(checkPort))).flat() : []),
  ]
}

/** @param version `20.19.0`. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wantedMajor, wantedMinor] = NODE_WANTED
  const isEnough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
  const what = 'node'
  if (!isEnough)
    return {
      ...{ what, state: 'bad', found: version },
      advice: `install node ${NODE_WANTED.join('.')} or newer`,
    }
  return { what, state: 'ok', found: version }
}

/** The folder that the CLI and local servers keep their things in. */
export function checkFolder(folder: string): readonly Finding[] {
  const what = folder
  if (!existsSync(folder)) return [checkAbove(folder)]
  const findings: Finding[] = []
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    findings.push({ what, state: 'ok', found: 'can be written' })
  } catch {
    findings.push({
      ...{ what, state: 'bad', found: 'cannot be written' },
      advice: `logins are not kept: chown -R "$USER" ${folder} && chmod u+rwx ${folder}`,
    })
  }
  for (const name of SECRETS) {
    const file = join(folder, name)
    const mode = existsSync(file) ? statSync(file).mode : 0
    if ((mode & OTHERS) !== 0)
      findings.push({
        ...{ what: file, state: 'bad', found: 'others of this machine can read it' },
        advice: `chmod 600 ${file}`,
      })
  }
  try {
    readConfig()
  } catch (error) {
    findings.push({
      ...{ what: join(folder, 'config.json'), state: 'bad', found: (error as Error).message },
      advice: 'mend it, or move it away',
    })
  }
  return findings
}

/** Of a folder that is not there: whether it can be made. */
function checkAbove(folder: string): Finding {
  try {
    accessSync(dirname(folder), constants.W_OK | constants.X_OK)
    return { what: folder, state: 'ok', found: 'not there yet; it is made when it is needed' }
  } catch {
    return {
      ...{ what: folder, state: 'bad', found: 'cannot be made' },
      advice: 'logins are not kept: set HOME to a folder that can be written',
    }
  }
}

async function checkPort([what, flag, standard]: (typeof PORTS)[number]): Promise<Finding[]> {
  const setting = Object.values(SETTINGS).find(({ name }) => name === flag)!
  const given = process.env[`MX_${setting.name.toUpperCase()}`] ?? ''
  if (given === 'none') return []
  const port = Number(/:(\d+)$/.exec(given)?.[1] ?? standard)
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
  const name = `port ${port} (${what})`
  if (isFree) return [{ what: name, state: 'ok', found: 'free' }]
  return [
    {
      ...{ what: name, state: 'note', found: 'in use by another program' },
      advice: `mx server --${flag}=127.0.0.1:<another port>, or end it: lsof -i :${port}`,
    },
  ]
}
