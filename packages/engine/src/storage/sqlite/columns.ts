/** Maps the names of TypeScript to those of SQL: `queueId` is the column `queue_id`. Every row type goes through here. */

export function columnName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Column list for INSERT: `queue_id, shard`. */
export function columnList(properties: readonly string[]): string {
  return properties.map(columnName).join(', ');
}

/** Select list that returns rows with TypeScript names: `queue_id AS queueId, shard`. */
export function selectList(properties: readonly string[]): string {
  return properties
    .map((property) => {
      const column = columnName(property);
      return column === property ? column : `${column} AS ${property}`;
    })
    .join(', ');
}

/** `INSERT INTO table (queue_id, shard) VALUES (@queueId, @shard)`, to be run with an object of these properties. */
export function insertSql(table: string, properties: readonly string[], verb = 'INSERT'): string {
  const values = properties.map((property) => `@${property}`).join(', ');
  return `${verb} INTO ${table} (${columnList(properties)}) VALUES (${values})`;
}
