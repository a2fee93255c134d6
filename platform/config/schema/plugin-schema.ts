import type { PluginDefinition } from '../../../core/plugin/define.ts'
import { DEFAULT_PLUGINS } from '../../plugins/defaults.ts'
import { type ConfigSchema, REFERENCE } from './setting-schema.ts'

/** Returns the schema of a list `plugins:`. Options of files and packages may be any map. */
export function toPluginList(
  definitions: Readonly<Record<string, PluginDefinition>>,
): ConfigSchema {
  const names = Object.keys(definitions)
  const options = Object.fromEntries(
    Object.values(definitions).map((definition) => [definition.name, toOptions(definition)]),
  )
  return {
    type: 'array',
    description: 'Plugins in chain order, each a name or file, optionally with options.',
    items: {
      anyOf: [
        { type: 'string', anyOf: [{ enum: names }, { type: 'string' }] },
        {
          type: 'object',
          ...{ minProperties: 1, maxProperties: 1 },
          properties: options,
          additionalProperties: { type: ['object', 'null'] },
        },
      ],
    },
  }
}

function toOptions({ name, description, options }: PluginDefinition): ConfigSchema {
  // Serializing removes the functions of the library.
  const schema = withReferences(JSON.parse(JSON.stringify(options))) as ConfigSchema
  const { required, ...rest } = schema
  // Settings supply missing options of default plugins.
  const isDefault = DEFAULT_PLUGINS.some((plugin) => plugin.name === name)
  return {
    ...rest,
    ...(!isDefault && required !== undefined && { required }),
    type: ['object', 'null'],
    description,
  }
}

/**
 * Allows a reference instead of each value, except maps, lists and unrestricted text, and makes
 * required options with defaults optional.
 */
function withReferences(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(withReferences)
  const { properties, items, anyOf, additionalProperties, patternProperties, required, ...rest } =
    schema as Record<string, unknown>
  const { description, default: standard, ...constraints } = rest
  const notes = {
    ...(description !== undefined && { description }),
    ...(standard !== undefined && { default: standard }),
  }
  const isContainer = constraints['type'] === 'object' || constraints['type'] === 'array'
  if (anyOf !== undefined)
    return { ...notes, anyOf: [...(withReferences(anyOf) as unknown[]), REFERENCE] }
  const isAnyText = constraints['type'] === 'string' && Object.keys(constraints).length === 1
  if (isAnyText) return schema
  if (!isContainer) return { ...notes, anyOf: [constraints, REFERENCE] }
  const names = (required as readonly string[] | undefined)?.filter(
    (name) => !('default' in (properties as Record<string, object>)[name]!),
  )
  return {
    ...rest,
    ...(properties !== undefined && { properties: mapValues(properties as object) }),
    ...(patternProperties !== undefined && {
      patternProperties: mapValues(patternProperties as object),
    }),
    ...(items !== undefined && { items: withReferences(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: withReferences(additionalProperties),
    }),
    ...(names !== undefined && names.length > 0 && { required: names }),
  }
}

function mapValues(schemas: object): object {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, each]) => [name, withReferences(each)]),
  )
}
