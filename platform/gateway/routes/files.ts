import { realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { Handler } from '../../../core/chain.ts'
import { GATEWAY_ID } from '../../../core/errors.ts'
import { createFileServer } from '../../../core/files/file-server.ts'
import type { PathTemplate } from '../../../core/path/template.ts'
import type { FilesAction } from '../../config/types.ts'
import { replacePrefix } from './rewrite/rewrite.ts'

/**
 * Creates the handler of a route with `files`.
 *
 * @param configFile path of the configuration file; undefined if no file is used.
 * @throws {RangeError} if the folder or its fallback does not exist, or the folder contains the
 * configuration file.
 */
export function createFilesHandler(
  { root, index, fallback, stripPrefix: prefix, cacheControl }: FilesAction,
  configFile: string | undefined,
): Handler {
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new RangeError(`root of files is not a folder: ${root}`)
  if (configFile !== undefined && isInside(configFile, root))
    throw new RangeError(
      `root of files contains the configuration file, which may contain secrets; move the files into a separate folder, such as ${join(root, 'public')}`,
    )
  if (
    fallback !== undefined &&
    !statSync(join(root, fallback), { throwIfNoEntry: false })?.isFile()
  )
    throw new RangeError(`fallback of files does not exist: ${join(root, fallback)}`)
  const prefixSegments = prefix.split('/').slice(1)
  return {
    name: 'files',
    handle: createFileServer({
      ...{ root, index, fallback, id: GATEWAY_ID },
      toPath: (path) => replacePrefix(path, prefixSegments, '') ?? path,
      cacheControl: (segments) =>
        cacheControl.find(([template]) => covers(template, segments))?.[1],
    }),
  }
}

function isInside(file: string, folder: string): boolean {
  const real = realpathSync(folder)
  return realpathSync(file).startsWith(real.endsWith(sep) ? real : real + sep)
}

/** Returns whether a template matches a path. */
function covers({ segments }: PathTemplate, path: readonly string[]): boolean {
  const any = segments.indexOf('**')
  const isEqual = (segment: string, other: string | undefined): boolean =>
    other !== undefined && (segment === '*' || segment === other)
  if (any < 0)
    return segments.length === path.length && segments.every((each, i) => isEqual(each, path[i]))
  const after = segments.slice(any + 1)
  return (
    path.length >= segments.length - 1 &&
    segments.slice(0, any).every((each, i) => isEqual(each, path[i])) &&
    after.every((each, i) => isEqual(each, path[path.length - after.length + i]))
  )
}
