"""The PostgreSQL of this run is the one the product is made for."""

from __future__ import annotations

import psycopg

from tests.postgres import PostgresServer


def test_the_server_orders_half_precision_vectors_by_distance(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE points (name text, place halfvec(3))")
        connection.execute("INSERT INTO points VALUES ('near', '[1,0,0]'), ('far', '[0,1,0]')")
        rows = connection.execute("SELECT name FROM points ORDER BY place <=> '[0.9,0.1,0]'").fetchall()
    assert rows == [("near",), ("far",)]


def test_the_server_knows_iterative_index_scans(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("LOAD 'vector'")
        connection.execute("SET hnsw.iterative_scan = strict_order")
        assert connection.execute("SHOW hnsw.iterative_scan").fetchone() == ("strict_order",)


def test_a_copy_of_a_database_does_not_share_its_rows(postgres_server: PostgresServer) -> None:
    original = postgres_server.create()
    with psycopg.connect(original, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'kept' AS text")
    copy = postgres_server.create(template=original)
    with psycopg.connect(copy, autocommit=True) as connection:
        assert connection.execute("DELETE FROM notes RETURNING text").fetchall() == [("kept",)]
    with psycopg.connect(original) as connection:
        assert connection.execute("SELECT text FROM notes").fetchall() == [("kept",)]
