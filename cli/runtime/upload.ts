import type { Session } from '../session/session.ts'
import { CliError } from '../ui/output.ts'
import { formatBar, type Steps } from '../ui/progress.ts'
import { findProject } from './project-root.ts'

/** Result of an upload. */
export interface Uploaded {
  /** `source://<name>:<version>` */
  readonly id: string
  /** Folder or file to run, relative to the upload; empty for the root. */
  readonly entrypoint: string
}

/**
 * Packs and uploads the project of a folder or file.
 *
 * @param path absolute path
 * @throws {CliError} for an empty project, or an error from the platform
 */
export async function upload(
  { stream, namespace }: Session,
  path: string,
  service: { readonly name: string; readonly version: string },
  steps: Steps,
): Promise<Uploaded> {
  const { root, entrypoint } = findProject(path)
  steps.show(`packing ${root}`)
  const [{ listFiles }, { pack }] = await Promise.all([
    import('./list-files.ts'),
    import('./pack.ts'),
  ])
  const { files, links, specials } = await listFiles(root)
  const inside = entrypoint === '' ? files : files.filter((file) => isInside(file.path, entrypoint))
  if (inside.every(({ path }) => path.endsWith('/')))
    throw new CliError(`nothing to run in ${path}: it is empty, or .gitignore excludes all files`)
  if (links.length > 0)
    steps.note(`not uploaded, links to files outside ${root}: ${links.join(', ')}`)
  if (specials.length > 0)
    steps.note(`not uploaded, pipes, sockets or devices: ${specials.join(', ')}`)
  if (steps.isVisible) {
    const count = files.filter(({ path }) => !path.endsWith('/')).length
    steps.note(`uploading ${root} (${count} ${count === 1 ? 'file' : 'files'})`)
  }
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let packed = 0
  const chunks = pack(root, files, (bytes) => {
    packed += bytes
    steps.show(`uploading ${formatBar(total === 0 ? 1 : Math.min(1, packed / total))}`)
  })
  async function* messages() {
    yield { service, options: { namespace }, data: '' }
    for await (const chunk of chunks) yield { data: chunk.toString('base64') }
  }
  for await (const { id } of stream<{ id: string }>('runtime', 'Source.Upload', messages()))
    return { id, entrypoint }
  throw new CliError('the platform did not confirm the upload')
}

function isInside(path: string, entrypoint: string): boolean {
  return path === entrypoint || path.startsWith(`${entrypoint}/`)
}
