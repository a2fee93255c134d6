import {
  PRIORITIES,
  type Priority,
} from '../../../core/upstream/concurrency/concurrency-options.ts'
import { oneOf } from '../../../lib/values/value.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import { readScalar } from './values.ts'

const PRIORITY = oneOf(PRIORITIES)

/** Reads `priority` of a route or consumer. */
export function readPriority(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
): Priority | undefined {
  return readScalar(source, `priority of ${label}`, entry, PRIORITY)
}
