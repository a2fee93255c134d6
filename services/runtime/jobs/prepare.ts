import { cp, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Resources } from '../../../core/contracts/runtime.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { type BuiltProgram, buildSource } from '../builds/build.ts'
import { isReachable } from '../builds/files.ts'
import type { SandboxedBuilds } from '../builds/sandboxed-build.ts'
import type { SecretPlace } from '../secrets.ts'
import { fetchRepository } from '../sources/fetch-repository.ts'
import type { RepositoryPolicy } from '../sources/pin-host.ts'
import {
  type DesiredState,
  type Revision,
  type ServiceRecord,
  toObjectKey,
} from '../state/records.ts'
import type { DiskRoom } from './disk-room.ts'
import type { Folders } from './folders.ts'
import type { Work } from './run-command.ts'

export interface PrepareOptions {
  readonly folders: Folders
  readonly room: DiskRoom
  /** Returns whether repositories of a namespace may be local paths on this server. */
  readonly allowsLocal: (namespace: string) => boolean
  /** Outgoing address policy for other repositories. */
  readonly egress: RepositoryPolicy
  readonly openSecret: (location: SecretPlace, sealed: string) => string
  /**
   * Finds the sandboxed builds of a namespace; undefined if isolation is disabled. @default
   * undefined
   */
  readonly findSandbox?: FindSandboxedBuilds
  /** Deletes the folder of a build. @default {@link removeFolder} */
  readonly removeBuild?: RemoveBuild
}

/** Deletes the folder of a build or of all builds of an object. */
export type RemoveBuild = (folder: string) => Promise<void>

export type FindSandboxedBuilds = (namespace: string) => Promise<SandboxedBuilds | undefined>

/** Builds the desired state of an object into a revision. */
export type Prepare = (record: ServiceRecord, work: Work) => Promise<Revision>

const UPLOADED = 'source://'

export function isUploaded(source: string): boolean {
  return source.startsWith(UPLOADED)
}

/** Returns the source URI of an upload (reference 7.1). */
export function toUploadedSource({ name, version }: Pick<ServiceRecord, 'name' | 'version'>) {
  return `${UPLOADED}${name}:${version}`
}

/**
 * Fetches the source or uses its upload, and builds it in a new folder. Deletes the folder on
 * failure.
 *
 * Errors are shown to callers, because they come from git, the build or the project.
 */
export function createPrepare(options: PrepareOptions): Prepare {
  const { folders, room, allowsLocal, egress, openSecret } = options
  const { findSandbox = async () => undefined, removeBuild = removeFolder } = options

  /** Fills the folder of a build. Returns the commit and entrypoint of the source. */
  async function fetch(record: ServiceRecord, folder: string, work: Work) {
    const { source, version, asked, wish, current } = record
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
    if (!isUploaded(source)) {
      const { namespace } = record
      const location = { namespace, key: toObjectKey(record), what: 'credentials' } as const
      const credentials = openSecret(location, wish.credentials)
      const allowLocal = allowsLocal(namespace)
      const from = { address: source, ref: version, allowLocal, egress, cacheFolder: folders.cache }
      return fetchRepository({ ...from, ...(credentials && { credentials }) }, folder, work)
    }
    const before = current?.build ? folders.build(record, current.build) : ''
    const isUpload = asked.upload !== ''
    const from = isUpload ? folders.upload(asked.upload) : before
    if (from === '' || !(await isReachable(from)))
      throw badRequest('runtime', 'the source is no longer available; upload it again')
    // The upload is retained until this step completes, because a server that was killed restarts the step. A program
    // may write to its build folder: if the server copied it as root, it could be tricked into copying the target of a
    // link.
    const sandboxed = isUpload ? undefined : await findSandbox(record.namespace)
    if (sandboxed === undefined) await cp(from, folder, { recursive: true, verbatimSymlinks: true })
    else await sandboxed.copy(from, folder, work)
    return { commit: '', entrypoint: '' }
  }

  async function make(record: ServiceRecord, work: Work): Promise<Revision> {
    const { asked, wish } = record
    const folder = folders.build(record, asked.id)
    const sandboxed = await findSandbox(record.namespace)
    // Left behind by a server that was killed.
    await removeBuild(folder)
    const { commit, entrypoint } = await fetch(record, folder, work)
    const input = {
      folder,
      entrypoint: wish.entrypoint || entrypoint,
      overrides: toOverrides(wish),
      allowScripts: wish.allowScripts,
    }
    const built =
      sandboxed === undefined
        ? await buildSource({ ...input, cacheFolder: folders.cache }, work)
        : await sandboxed.build(input, work)
    return toBuiltRevision(record, built, commit)
  }

  return async (record, work) => {
    const { asked, wish, current, previous } = record
    if (asked.kind === 'rollback' && previous !== undefined) return { ...previous, id: asked.id }
    if (wish.image !== '') return toImageRevision(record)
    if (asked.kind === 'restart' && current !== undefined) return toRestarted(current, record)
    return room.use(work.signal, (signal) => make(record, { ...work, signal }))
  }
}

/** Returns the settings of the object that override settings of the project. */
function toOverrides(wish: DesiredState) {
  const { command, args, instances, protocol, port } = wish
  const resources = toResources(wish)
  return {
    ...(command.length > 0 && { command: [...command, ...args] }),
    ...(instances > 0 && { instances }),
    ...(protocol !== '' && { protocol }),
    ...(port > 0 && { port }),
    ...(Object.keys(resources).length > 0 && { resources }),
  }
}

function toResources({ memory, cpus }: DesiredState): Resources {
  return { ...(memory > 0 && { memoryBytes: memory }), ...(cpus > 0 && { cpus }) }
}

function toBuiltRevision(record: ServiceRecord, built: BuiltProgram, commit: string): Revision {
  const { asked, wish } = record
  const rest = wish.command.length > 0 ? [] : wish.args
  return {
    ...{ id: asked.id, build: asked.id, commit, secrets: wish.secrets },
    program: { kind: 'process', folder: built.folder, command: [...built.command, ...rest] },
    env: { ...built.env, ...wish.env },
    instances: wish.instances || built.instances || 1,
    resources: { ...built.resources, ...toResources(wish) },
    protocol: wish.protocol || built.protocol,
    port: wish.port || built.port || 0,
  }
}

function toImageRevision({ asked, wish }: ServiceRecord): Revision {
  const { image, command, args, env, secrets, protocol, port } = wish
  return {
    ...{ id: asked.id, build: '', commit: '', env, secrets, port },
    program: {
      ...{ kind: 'image', image },
      ...(command.length > 0 && { command }),
      ...(args.length > 0 && { args }),
    },
    instances: wish.instances || 1,
    resources: toResources(wish),
    protocol: protocol || 'mx',
  }
}

/** Returns the same program with the current settings. */
function toRestarted(current: Revision, { asked, wish }: ServiceRecord): Revision {
  return {
    ...current,
    ...{ id: asked.id, secrets: wish.secrets, env: { ...current.env, ...wish.env } },
    instances: wish.instances || current.instances,
    resources: { ...current.resources, ...toResources(wish) },
  }
}
