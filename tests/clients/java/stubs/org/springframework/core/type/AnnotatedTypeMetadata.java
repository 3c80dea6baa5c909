package org.springframework.core.type;

public interface AnnotatedTypeMetadata { }
