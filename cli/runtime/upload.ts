import type { Session } from '../session/session.ts'
import { CliError } from '../ui/output.ts'
import { formatBar, type Steps } from '../ui/progress.ts'
import { findProject } from './project-root.ts'

/** Where the platform has it. */
export interface Uploaded {
  /** `source://<name>:<version>` */
  readonly id: string
  /** The folder or file to run, relative to what was uploaded; empty: all of it. */
  readonly entrypoint: string
}

/**
 * Packs the project that a folder or file lies in, and uploads it.
 *
 * @param path absolute.
 * @throws {CliError} when there is nothing in it, and what the platform refuses.
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
  const inside = entrypoint === '' ? files : files.filter((file) => isIn(file.path, entrypoint))
  if (inside.every(({ path }) => path.endsWith('/')))
    throw new CliError(`nothing to run in ${path}: it is empty, or .gitignore leaves out all of it`)
  if (links.length > 0)
    steps.note(`left out, as they are links that lead to no file of ${root}: ${links.join(', ')}`)
  if (specials.length > 0)
    steps.note(`left out, as they are pipes, sockets or devices: ${specials.join(', ')}`)
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let begun = 0
  const chunks = pack(root, files, (bytes) => {
    begun += bytes
    steps.show(`uploading ${formatBar(total === 0 ? 1 : Math.min(1, begun / total))}`)
  })
  async function* messages() {
    yield { service, options: { namespace }, data: '' }
    for await (const chunk of chunks) yield { data: chunk.toString('base64') }
  }
  for await (const { id } of stream<{ id: string }>('runtime', 'Source.Upload', messages()))
    return { id, entrypoint }
  throw new CliError('the platform has not said where the upload is')
}

function isIn(path: string, entrypoint: string): boolean {
  return path === entrypoint || path.startsWith(`${entrypoint}/`)
}
