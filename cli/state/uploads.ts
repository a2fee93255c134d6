import type { Session } from '../session/session.ts'
import { changeStateFile, readStateFile, toStatePath } from './state-file.ts'

/** A runtime object of a platform. */
type Deployed = Pick<Session, 'environment' | 'namespace'> & {
  readonly name: string
  readonly version: string
}

const LINES_MAX = 1000

/**
 * Records the folder that this user uploaded for an object. A platform could report any folder as the source of an
 * object, so `mx update <name>` uploads only the recorded folder.
 */
export async function recordUpload(deployed: Deployed, folder: string): Promise<void> {
  const key = toKey(deployed)
  await changeStateFile(toStatePath('uploads'), (text = '') => {
    const others = text.split('\n').filter((line) => line !== '' && toEntry(line)?.[0] !== key)
    return [...others.slice(1 - LINES_MAX), JSON.stringify([key, folder]), ''].join('\n')
  })
}

/** Folder that this user last uploaded for an object; undefined if none is recorded. */
export function findUpload(deployed: Deployed): string | undefined {
  const key = toKey(deployed)
  const lines = readStateFile(toStatePath('uploads'))?.split('\n') ?? []
  return lines.map(toEntry).find((entry) => entry?.[0] === key)?.[1]
}

function toKey({ environment, namespace, name, version }: Deployed): string {
  return `${environment.address}/${namespace}/${name}@${version}`
}

/** Parses a line; undefined if it is damaged. */
function toEntry(line: string): readonly [key: string, folder: string] | undefined {
  try {
    const [key, folder] = JSON.parse(line)
    return [String(key), String(folder)]
  } catch {
    return undefined
  }
}
